
Bhalves(€x(ÿ÷